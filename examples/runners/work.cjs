/** The task module of all of them: CommonJS, as a project with Jest in its default mode has it. */
const { PlaitError, task } = require('plait/task');
const { fs } = require('plait/fs');

exports.countPrimes = (limit) => {
  let count = 0;
  for (let n = 2; n < limit; n++) {
    let divisor = 2;
    while (divisor * divisor <= n && n % divisor !== 0) divisor++;
    if (divisor * divisor > n) count++;
  }
  return count;
};

exports.readBack = (path) => fs.readFileSync(path, 'utf8');

exports.same = (value) => value;

exports.fail = (message) => {
  throw new RangeError(message, { cause: { path: ['a', 1] } });
};

exports.failOwn = () => {
  throw new PlaitError('ERR_PLAIT_UNSUPPORTED', 'on purpose');
};

/** Tells its caller something meanwhile, and asks for more tasks of its own pool. */
exports.more = async (limits) => {
  task.progress('half');
  return Promise.all(limits.map((limit) => task.pool.run(limit, { name: 'countPrimes' })));
};
