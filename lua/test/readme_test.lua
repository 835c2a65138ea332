-- The Lua of lua/README.md and of the reference, as pasted, prints what its comments say.

local check = require 'check'

local pages = {}
for name in assert(io.popen 'ls lua/README.md docs/reference/lua*.md 2>/dev/null'):lines() do
  pages[#pages + 1] = name
end

local function run(name, code)
  local expected, printed = {}, {}
  for line in code:gmatch '[^\n]+' do
    local comment = line:match '%-%->%s*(.*)'
    if comment then expected[#expected + 1] = comment:gsub('%s+', ' ') end
  end
  code = code:gsub("'person%.pb'", ('%q'):format(check.folder .. '/all.pb'))
  local globals = setmetatable({}, { __index = _G })
  function globals.print(...)
    local parts = { ... }
    for i = 1, select('#', ...) do
      parts[i] = tostring(parts[i])
    end
    printed[#printed + 1] = table.concat(parts, ' ')
  end
  local chunk
  if setfenv then
    chunk = setfenv(assert(loadstring(code, name)), globals)
  else
    chunk = assert(load(code, name, 't', globals))
  end
  chunk()
  check.equal(printed, expected)
end

for _, name in ipairs(pages) do
  check.test(name, function()
    local file = assert(io.open(name))
    local text = file:read '*a'
    file:close()
    for code in text:gmatch '```lua\n(.-)```' do
      run(name, code)
    end
  end)
end

check.done()
