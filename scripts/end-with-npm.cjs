// Ends the service when the npm that runs it is gone: npm passes SIGINT and SIGTERM on, but SIGHUP and
// SIGKILL end npm alone.
const npm = process.ppid;
const watch = setInterval(() => {
  if (process.ppid === npm) return;
  clearInterval(watch);
  process.kill(process.pid, 'SIGHUP');
}, 500);
watch.unref();
