import { createDrillDirectory, databaseAccount } from '../drills/support/accounts';
import { runProgram, startDaemon } from '../drills/support/daemon';
import { freePorts, isListening } from '../drills/support/ports';
import { isRunning } from './support/built-service';
import { forAllTests } from './support/fixtures';

const NODE = process.execPath;

describe('what the drills share', () => {
  const directory = forAllTests(
    () => createDrillDirectory('test'),
    (opened) => opened.remove(),
  );

  it('starts a program, waits until it serves, and ends it by its process id', async () => {
    const [port = 0] = await freePorts(1);
    const daemon = await startDaemon({
      program: NODE,
      parameters: ['-e', `require('http').createServer().listen(${port}, '127.0.0.1'); console.log('up')`],
      isReady: () => isListening(port),
    });

    expect([daemon.output(), isRunning(daemon.pid)]).toEqual(['up\n', true]);
    daemon.signal('SIGSTOP');
    await daemon.stop();
    expect([daemon.isRunning(), isRunning(daemon.pid), await isListening(port)]).toEqual([
      false,
      false,
      false,
    ]);
  });

  it('reports what a program wrote that ends before it is ready', async () => {
    const failing = { program: NODE, parameters: ['-e', `console.error('no disk'); process.exit(3)`] };

    await expect(startDaemon({ ...failing, isReady: () => false })).rejects.toThrow(/ended with 3: no disk/);
    await expect(runProgram(failing)).rejects.toThrow(/ended with 3: no disk/);
    await expect(startDaemon({ program: '/no/such', name: 'it' })).rejects.toThrow(
      /it did not start: .*ENOENT/,
    );
  });

  it('runs a program as the user who may run PostgreSQL', async () => {
    const account = await databaseAccount();
    const own = await directory.create('own', account);

    expect(
      await runProgram({
        program: '/bin/sh',
        parameters: ['-c', 'id -u; : > file'],
        account,
        directory: own,
      }),
    ).toBe(`${account.uid}\n`);
    expect(account.uid).not.toBe(0);
  });
});
