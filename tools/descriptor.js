/**
 * Writes lua/plait/message/descriptor.lua: descriptor.proto, as the installed protoc has it, as bytes in a Lua module.
 * Programs need no protoc. lua/test/descriptor_test.lua tells when the file is not what the same protoc makes.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const LINE = 100;
const version = execFileSync('protoc', ['--version'], { encoding: 'utf8' }).trim();
const folder = mkdtempSync(join(tmpdir(), 'plait-descriptor-'));
execFileSync('protoc', [`--descriptor_set_out=${join(folder, 'set')}`, 'google/protobuf/descriptor.proto']);
const bytes = readFileSync(join(folder, 'set'));
rmSync(folder, { recursive: true });

/** A byte in a Lua string, whatever follows it. */
function escaped(byte) {
  const character = String.fromCharCode(byte);
  if (character === "'" || character === '\\') return `\\${character}`;
  return byte >= 32 && byte < 127 ? character : `\\${String(byte).padStart(3, '0')}`;
}

const lines = [''];
for (const byte of bytes) {
  if (lines.at(-1).length > LINE) lines.push('');
  lines[lines.length - 1] += escaped(byte);
}
const text = `-- The FileDescriptorSet of google/protobuf/descriptor.proto. \`node tools/descriptor.js\` made it with ${version}.

return table.concat {
${lines.map((line) => `  '${line}',\n`).join('')}}
`;
writeFileSync(new URL('../lua/plait/message/descriptor.lua', import.meta.url), text);
