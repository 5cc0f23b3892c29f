import DataLoader from 'dataloader';

/** Few enough that nobody waits long for the others of their statement. */
const MAX_ITEMS = 100;

/**
 * Runs one statement for all that is asked for at the same time: in one turn of the event loop, and while the
 * statement before it runs. What is asked for alone does not wait for company.
 *
 * @param run gives the results in the order of the items. A promise among them is waited for by its own item
 * alone, and not by the next statement
 */
export function groupedStatement<Item, Result>(
  run: (items: readonly Item[]) => Promise<readonly (Result | Promise<Result>)[]>,
): (item: Item) => Promise<Result> {
  let underWay: Promise<unknown> = Promise.resolve();
  const loader = new DataLoader<Item, Result | Promise<Result>>(
    (items) => {
      const results = run(items);
      underWay = results.catch(() => undefined);
      return results;
    },
    {
      cache: false,
      maxBatchSize: MAX_ITEMS,
      batchScheduleFn: (start) => void underWay.then(() => setImmediate(start)),
    },
  );
  return (item) => loader.load(item).then((result) => result);
}
