/** Events of pools: an EventEmitter in Node, an EventTarget in browsers, and the common part on any host. */

import { connect, type Pool } from 'plait';
import { alike, type Case, ok, rejection, same, thrown } from './check.ts';
import { isNode, poolsOf, until } from './pool-setup.ts';

export function poolEventCases(module: (name: string) => string): Case[] {
  const withPool = poolsOf(module('pool-tasks.js'));
  const oneMore = (pool: Pool, size: number): void => pool.resize({ min: size, max: size });

  return [
    {
      name: 'events: on, once, off and the rest, and addEventListener with a CustomEvent',
      run: () =>
        withPool({ threads: 1 }, async (pool) => {
          let isStarted = false;
          pool.once('start', () => {
            isStarted = true;
          });
          await until(() => isStarted);
          const seen: string[] = [];
          const never = (): void => void seen.push('never');
          const twice = ({ index }: { index: number }): void => void seen.push(`on ${index}`);
          const target = ({ type, detail }: CustomEvent): void => void seen.push(`${type} ${detail.index}`);
          const once = (): void => void seen.push('target once');
          pool.on('start', twice).once('start', ({ index }) => void seen.push(`once ${index}`));
          pool.on('start', never).off('start', never);
          pool.addListener('start', never).removeListener('start', never);
          pool.once('start', never).off('start', never);
          pool.addEventListener('start', target);
          pool.addEventListener('start', target); // once is enough
          pool.addEventListener('start', { handleEvent: once }, { once: true });
          pool.addEventListener('start', never);
          pool.removeEventListener('start', never);
          same(pool.listenerCount('start') >= 2, true);
          ok(pool.eventNames().includes('start') && !pool.eventNames().includes('drain'), 'names');
          same(pool.listeners('start')[0], twice);
          for (const [size, count] of [
            [2, 4],
            [3, 6],
          ] as const) {
            oneMore(pool, size);
            await until(() => seen.length >= count, `${seen}`);
          }
          alike(seen, ['on 1', 'once 1', 'start 1', 'target once', 'on 2', 'start 2']);
          pool.removeEventListener('start', target);
          pool.on('end', never).removeAllListeners();
          same(pool.listenerCount('start') + pool.listenerCount('end'), 0);
          same(pool.emit('drain', undefined), false, 'no listener');
          ok(thrown(() => pool.on('start', 5 as never)) instanceof TypeError, 'no function');
          if (!isNode) ok(pool instanceof EventTarget, 'an EventTarget');
          alike(Object.keys(pool), ['cannotBeCloned']);
        }),
    },
    {
      name: 'events of a connection: once a queue has room',
      run: () =>
        withPool({ threads: 1, maxQueue: 1 }, async (pool, space) => {
          using other = connect(pool.handle, { space });
          let drained = 0;
          other.once('drain', () => drained++);
          const all = Promise.allSettled([other.run(20, { name: 'pause' }), other.run(1), other.run(2), other.run(3)]);
          await until(() => drained === 1);
          await all;
          same(other.listenerCount('drain'), 0);
        }),
    },
    {
      name: 'message: what code in a worker posts to its parent, with the ports in it',
      run: () =>
        withPool({ threads: 2 }, async (pool) => {
          const messages: { value: number; list: Map<string, MessagePort>[] }[] = [];
          pool.on('message', (message) => void messages.push(message as never));
          await pool.runMany([1, 2], { name: 'postToParent' });
          await until(() => messages.length === 2);
          alike(messages.map(({ value }) => value).sort(), [1, 2]);
          for (const { list } of messages) {
            const port = list[0]?.get('port') as MessagePort;
            const answer = new Promise((resolve) => {
              port.onmessage = ({ data }) => resolve(data);
            });
            port.postMessage('hello');
            same(await answer, 'echo hello');
            port.close();
          }
          same(await pool.run('works'), 'works');
          same((await rejection(pool.run(1, { name: 'fail' }))).name, 'RangeError');
        }),
    },
  ];
}
