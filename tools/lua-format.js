// Formats the Lua files that git knows with StyLua; with --check it changes nothing and fails if one would change.
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import {
  CallParenType,
  CollapseSimpleStatement,
  Config,
  formatCode,
  IndentType,
  LuaVersion,
  OutputVerification,
  QuoteStyle,
} from '@johnnymorganz/stylua';

const check = process.argv.includes('--check');
const files = execFileSync('git', ['ls-files', '-z', '*.lua', ':!lua/plait/message/descriptor.lua'], {
  encoding: 'utf8',
})
  .split('\0')
  .filter(Boolean);
const stale = [];
for (const file of files) {
  const source = readFileSync(file, 'utf8');
  const formatted = format(format(source)); // StyLua changes some of its own output once more
  if (formatted === source) continue;
  stale.push(file);
  if (!check) writeFileSync(file, formatted);
}
if (check && stale.length > 0) {
  console.error(`not formatted: ${stale.join(', ')}; run \`make format\``);
  process.exit(1);
}

function format(source) {
  const config = Config.new(); // formatCode() takes it over
  config.syntax = LuaVersion.All;
  config.column_width = 120;
  config.indent_type = IndentType.Spaces;
  config.indent_width = 2;
  config.quote_style = QuoteStyle.AutoPreferSingle;
  config.call_parentheses = CallParenType.Input;
  config.collapse_simple_statement = CollapseSimpleStatement.Always;
  return formatCode(source, config, undefined, OutputVerification.Full);
}
