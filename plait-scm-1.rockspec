rockspec_format = '3.0'
package = 'plait'
version = 'scm-1'
source = {
  url = '.', -- `luarocks make` in this folder
}
description = {
  summary = 'Protocol Buffers at run time: fast, complete, and with the face of pbc',
  detailed = [[
    Schemas are loaded at run time from descriptor sets. Messages become tables and back, or flat lists of values without any
    table. proto2, proto3 and edition 2023; passes the official conformance suite (binary). Two faces: plait.message, and
    protobuf, a drop-in for programs written for cloudwu's pbc.
  ]],
  license = 'MIT',
}
dependencies = {
  'lua >= 5.1, < 5.5',
}
build = {
  type = 'builtin',
  modules = {
    ['protobuf'] = 'lua/protobuf.lua',
    ['plait.message'] = 'lua/plait/message.lua',
    ['plait.message.ffi'] = 'lua/plait/ffi.lua',
    ['plait.message.descriptor'] = 'lua/plait/message/descriptor.lua',
    ['plait.message.core'] = { sources = { 'lua/all.c' } },
  },
}
test = {
  type = 'command',
  command = 'make lua-test',
}
