-- The README's and the documentation's Lua, as pasted, print what their comments say.

local check = require 'check'

for _, name in ipairs { 'README.md', 'docs/message.md' } do
  check.test(name, function()
    local file = assert(io.open(name))
    local text = file:read '*a'
    file:close()
    local code = assert(text:match '```lua\n(.-)```', 'no Lua in it')
    local expected, printed = {}, {}
    for line in code:gmatch '[^\n]+' do
      local comment = line:match '%-%->%s*(.*)'
      if comment then expected[#expected + 1] = comment:gsub('%s+', ' ') end
    end
    assert(#expected > 0)
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
      chunk = setfenv(assert(loadstring(code)), globals)
    else
      chunk = assert(load(code, name, 't', globals))
    end
    chunk()
    check.equal(printed, expected)
  end)
end

check.done()
