/** Where a figure comes from: processor, Node and the versions of what is compared. */

import { readFileSync } from 'node:fs';
import { availableParallelism, cpus, platform, release } from 'node:os';

const BENCH = new URL('../', import.meta.url);

export function describeMachine() {
  return {
    processor: cpus()[0]?.model.trim() ?? 'unknown',
    cores: availableParallelism(),
    system: `${platform()} ${release()}`,
    node: process.version,
  };
}

/** The installed version of each dependency of the benchmark. */
export function describeVersions() {
  const { dependencies } = readJson('package.json');
  return Object.fromEntries(
    Object.keys(dependencies).map((name) => [name, readJson(`node_modules/${name}/package.json`).version]),
  );
}

function readJson(path) {
  return JSON.parse(readFileSync(new URL(path, BENCH), 'utf8'));
}
