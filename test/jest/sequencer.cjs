const { default: Sequencer } = require('@jest/test-sequencer');

/**
 * While it knows no durations, Jest begins with the largest files. These take the longest, also those that
 * are small: from half a minute to two, on two slow cores. Begun last, they would keep one core waiting for
 * the other.
 */
const LONG = new RegExp(
  `/faults/(${[
    'bench',
    'client-package',
    'crashes-\\w+',
    'descriptions',
    'event-readers',
    'failover',
    'fuzz',
    'long-responses',
    'odd-responses',
    'plans',
    'renewals',
    'restore',
    'soak',
    'staff-\\w+',
    'start',
  ].join('|')})\\.e2e`,
);
const isLong = ({ path }) => LONG.test(path);

module.exports = class LongestFirst extends Sequencer {
  sort(tests) {
    const sorted = super.sort(tests);
    return [...sorted.filter(isLong), ...sorted.filter((test) => !isLong(test))];
  }
};
