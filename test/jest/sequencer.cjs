const { default: Sequencer } = require('@jest/test-sequencer');

/**
 * While it knows no durations, Jest begins with the largest files. These are small and take up to a minute:
 * begun last, they would keep one core waiting for the other.
 */
const LONG = /\/faults\/(alerts|bench|crashes-\w+|failover|fuzz|restore|soak|staff-pages)\.e2e/;
const isLong = ({ path }) => LONG.test(path);

module.exports = class LongestFirst extends Sequencer {
  sort(tests) {
    const sorted = super.sort(tests);
    return [...sorted.filter(isLong), ...sorted.filter((test) => !isLong(test))];
  }
};
