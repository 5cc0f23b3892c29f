import type { LoadJob } from './load-job';
import { runLoad } from './run-load';

/** The load generator's process: takes jobs, one at a time, from its parent. */
process.on('message', (job: LoadJob) => {
  runLoad(job).then(
    (result) => process.send?.({ result }),
    (error: unknown) => process.send?.({ error: String(error) }),
  );
});
