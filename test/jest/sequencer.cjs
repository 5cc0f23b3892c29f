const { default: Sequencer } = require('@jest/test-sequencer');

/** Files of half a minute or longer begin first. Jest alone would order files of unknown duration by size. */
const LONG = new RegExp(
  `/faults/(${[
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
