import type { LoadJob } from './load-job';
import { runLoad } from './run-load';

/** Entry of the load generator's process: runs jobs from its parent, one at a time. */
process.on('message', (job: LoadJob) => {
  runLoad(job).then(
    (result) => process.send?.({ result }),
    (error: unknown) => process.send?.({ error: String(error) }),
  );
});
