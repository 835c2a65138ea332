-- luacheck, as `make lint` runs it. The module must run on every Lua, so it may use only what all versions have.
std = 'min'
max_line_length = false -- StyLua wraps lines; what stays long is a string
ignore = { '542' } -- an empty branch names a case in which there is nothing to do

-- Where these are missing, the module goes without.
files['lua/plait/ffi.lua'] = { read_globals = { 'loadstring' } } -- loaded under LuaJIT only
files['lua/plait/message.lua'] = { read_globals = { 'jit' } }

-- Tests and benchmarks ask which Lua they run on, and then use what that version has.
files['lua/test'] = { std = 'max' }
files['bench'] = { std = 'max' }
files['conformance'] = { std = 'max' }
files['*.rockspec'] = { std = '+rockspec' }
