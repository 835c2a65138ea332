/** Tasks whose function is another module's: `run(input, { module })`, in every call. On any host. */

import { connect } from 'plait';
import { alike, type Case, ok, rejection, same } from './check.ts';
import { begun, isNode, poolsOf } from './pool-setup.ts';

export function poolModuleCases(module: (name: string) => string): Case[] {
  const withPool = poolsOf(module('pool-tasks.js'));
  const other = module('tasks.js');
  const missing = module('there-is-no-such-module.js');

  return [
    {
      name: 'module of a call: another module’s exports are called, in every call and thread',
      run: () =>
        withPool({ threads: 1 }, async (pool, space) => {
          same(await pool.run(7, { module: other }), 7, 'its default export');
          same(await pool.run(3, { module: other, name: 'later' }), 3, 'loaded before');
          alike(await pool.runMany([1, 2], { module: new URL(other) }), [1, 2], 'a URL object');
          same((await pool.map([5], { module: other, name: 'later' }).next()).value, 5);
          same((await pool.mapSettled([5], { module: other, name: 'later' }).next()).value?.status, 'fulfilled');
          same(await pool.parts(6, { module: other }).result, 6);
          alike(await pool.broadcast(4, { module: other, later: true }), [4]);
          same(await pool.proxy<{ later(input: number): number }>().later(9, { module: other }), 9);
          if (isNode) same(pool.runSync(8, { module: other, name: 'later' }), 8);
          using connected = connect(pool.handle, { space });
          same(await connected.run(2, { module: other }), 2);
          // A view that is lent is valid until the promise settles, also while the module is loading.
          const fresh = `${other}?fresh`;
          same(await pool.run(new Uint8Array([1, 2, 3]), { module: fresh, name: 'sum', lend: true }), 6);
          // The same name in both modules means the function of each.
          same(await pool.run(0, { name: 'worker' }), 0);
          same((await rejection(pool.run(0, { name: 'worker', module: other }))).code, 'ERR_PLAIT_NO_SUCH_EXPORT');
          same((await rejection(pool.run(0, { name: 'later' }))).code, 'ERR_PLAIT_NO_SUCH_EXPORT');
        }),
    },
    {
      name: 'module of a call: one that cannot be loaded rejects its task, and the pool works on',
      run: () =>
        withPool({ threads: 1, retries: 3 }, async (pool) => {
          for (let i = 0; i < 2; i++) {
            const error = await rejection(pool.run(1, { module: missing }));
            same(error.code, 'ERR_PLAIT_MODULE_LOAD');
            ok(error.message.includes('there-is-no-such-module.js'), error.message);
          }
          same((await rejection(pool.run(1, { module: module('throws-on-load.js') }))).code, 'ERR_PLAIT_MODULE_LOAD');
          same(await pool.run('works'), 'works');
          same(pool.stats().started, 1, 'no worker has ended');
          const wrong = await rejection(pool.run(1, { module: 5 as never }));
          same(wrong.message, "options.module must be a module's URL or path, not 5");
        }),
    },
    {
      name: 'module of a call: a timeout counts while it loads, and workers that start later load it again',
      run: () =>
        withPool({ threads: 1, grace: 0 }, async (pool) => {
          const text = 'await new Promise(() => {}); export default 1;';
          const never = `data:text/javascript,${encodeURIComponent(text)}`;
          same((await rejection(pool.run(1, { module: never, timeout: 20 }))).code, 'ERR_PLAIT_TASK_TIMEOUT');
          same(await pool.run(1, { module: other }), 1);
          const { end } = await begun(pool, 'beginAndSpin', { timeout: 1 });
          same((await rejection(end)).code, 'ERR_PLAIT_TASK_TIMEOUT');
          same(await pool.run(2, { module: other }), 2, 'by the replacement');
        }),
    },
  ];
}
