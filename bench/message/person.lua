-- How long do messages take from Lua? person.lua VERSION DESCRIPTORS: CPU nanoseconds, all cases of a round one after
-- the other. Prints a line for each case and round: case, nanoseconds, bytes of the message (if its rate matters),
-- separated by tabs. merge.lua makes the table of several processes: each has another seed for the hashes of its names.

local descriptors = assert(arg[2])
local message = require 'plait.message'
local protobuf = require 'protobuf'
local ok, json = pcall(require, 'cjson')

local schema = assert(message.load(descriptors))
protobuf.register_file(descriptors)
local Person, Snapshot = schema.type 'bench.Person', schema.type 'bench.Snapshot'
local flat = schema.pattern 'bench.Person name id'

local state = 1
local function random(limit)
  state = state * 16807 % 2147483647
  return state % limit
end

local function new_snapshot(entities)
  local all = {}
  for i = 1, entities do
    local items, stats = {}, {}
    for j = 1, 3 do
      items[j] = { kind = random(50), count = random(1000), label = 'item ' .. random(30) }
    end
    for j = 1, 16 do
      stats[j] = random(300)
    end
    all[i] = {
      id = 1000000 + random(1000000),
      name = 'entity ' .. random(1000),
      place = { x = random(800) / 8, y = random(800) / 8, z = 0.5 },
      speed = { x = random(80) / 8, y = 0.25, z = 0.5 },
      items = items,
      stats = stats,
      tags = { team = random(4), rank = random(100) },
      mass = random(1000) / 10,
      state = ('s'):rep(24),
      alive = true,
    }
  end
  return { tick = 123456789, map = 'valley', entities = all }
end

local small, large = new_snapshot(4), new_snapshot(113)
local small_bytes, large_bytes = assert(Snapshot.encode(small)), assert(Snapshot.encode(large))
assert(#Snapshot.encode(Snapshot.decode(large_bytes)) == #large_bytes)
local person_bytes = Person.encode { name = 'Alice', id = 123 }
do -- answers first
  local name, id = flat.unpack(flat.pack('Alice', 123))
  assert(name == 'Alice' and id == 123 and Person.decode(person_bytes).name == 'Alice')
end

local encode, decode, pack, unpack = Person.encode, Person.decode, flat.pack, flat.unpack
local fixed = { name = 'Alice', id = 123 }

local last -- luacheck: ignore 231 (a store that the compiler cannot leave out)
local cases = {
  {
    'the table of a Person, made and collected',
    100000,
    function(n)
      for _ = 1, n do
        last = { name = 'Alice', id = 123 }
      end
    end,
  },
  {
    'Person table: encode + decode',
    100000,
    function(n)
      for _ = 1, n do
        decode((encode { name = 'Alice', id = 123 }))
      end
    end,
  },
  {
    'Person flat: pack + unpack',
    200000,
    function(n)
      for _ = 1, n do
        local _, _ = unpack((pack('Alice', 123)))
      end
    end,
  },
  {
    'Person encode',
    100000,
    function(n)
      for _ = 1, n do
        encode(fixed)
      end
    end,
  },
  {
    'Person decode',
    100000,
    function(n)
      for _ = 1, n do
        decode(person_bytes)
      end
    end,
  },
  {
    'Person decode into a table',
    100000,
    function(n)
      for _ = 1, n do
        decode(person_bytes, nil, fixed)
      end
    end,
  },
  {
    'Person table, face of pbc',
    50000,
    function(n)
      for _ = 1, n do
        protobuf.decode('bench.Person', protobuf.encode('bench.Person', { name = 'Alice', id = 123 }))
      end
    end,
  },
  {
    'Person flat, face of pbc',
    100000,
    function(n)
      for _ = 1, n do
        local _, _ = protobuf.unpack('bench.Person name id', protobuf.pack('bench.Person name id', 'Alice', 123))
      end
    end,
  },
  {
    'Snapshot 1 KB encode',
    2000,
    function(n)
      for _ = 1, n do
        Snapshot.encode(small)
      end
    end,
    #small_bytes,
  },
  {
    'Snapshot 1 KB decode',
    2000,
    function(n)
      for _ = 1, n do
        Snapshot.decode(small_bytes)
      end
    end,
    #small_bytes,
  },
  {
    'Snapshot 30 KB encode',
    100,
    function(n)
      for _ = 1, n do
        Snapshot.encode(large)
      end
    end,
    #large_bytes,
  },
  {
    'Snapshot 30 KB decode',
    100,
    function(n)
      for _ = 1, n do
        Snapshot.decode(large_bytes)
      end
    end,
    #large_bytes,
  },
  {
    'Snapshot 30 KB view, one field',
    1000,
    function(n)
      for _ = 1, n do
        local _ = Snapshot.view(large_bytes).map
      end
    end,
  },
}
if ok then
  cases[#cases + 1] = {
    'Person table, JSON (cjson)',
    50000,
    function(n)
      for _ = 1, n do
        json.decode(json.encode { name = 'Alice', id = 123 })
      end
    end,
  }
  for _, one in ipairs { small, large } do
    for _, entity in ipairs(one.entities) do
      entity.tags = { team = entity.tags.team, rank = entity.tags.rank }
    end
  end
  local text = json.encode(small)
  cases[#cases + 1] = {
    'Snapshot 1 KB encode, JSON (cjson)',
    2000,
    function(n)
      for _ = 1, n do
        json.encode(small)
      end
    end,
    #small_bytes,
  }
  cases[#cases + 1] = {
    'Snapshot 1 KB decode, JSON (cjson)',
    2000,
    function(n)
      for _ = 1, n do
        json.decode(text)
      end
    end,
    #small_bytes,
  }
end

for round = 0, 5 do
  for _, case in ipairs(cases) do
    local count = math.floor(case[2] / 4)
    -- what the case before has left is no matter of this one; what this one makes is collected on its time
    collectgarbage()
    local start = os.clock()
    case[3](count)
    local each = (os.clock() - start) / count * 1e9
    if round > 0 then print(('%s\t%.1f\t%d'):format(case[1], each, case[4] or 0)) end
  end
end
