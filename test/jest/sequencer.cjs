const { default: Sequencer } = require('@jest/test-sequencer');

/**
 * While it knows no durations, Jest begins with the largest files. These are small and take up to a minute:
 * begun last, they would keep one core waiting for the other.
 */
const LONGEST = [
  ...['crashes-renewals', 'alerts', 'failover', 'crashes-buy', 'crashes-prolong', 'page-barriers', 'bench'],
  ...['restore', 'fuzz', 'soak', 'staff-pages'],
];
const isLong = ({ path }) => LONGEST.some((name) => path.includes(`/test/faults/${name}.`));

module.exports = class LongestFirst extends Sequencer {
  sort(tests) {
    const sorted = super.sort(tests);
    return [...sorted.filter(isLong), ...sorted.filter((test) => !isLong(test))];
  }
};
