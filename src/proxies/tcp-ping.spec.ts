import net from 'node:net';
import { tcpPing } from './tcp-ping';

function listen(): Promise<{ server: net.Server; port: number }> {
  const server = net.createServer();
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () =>
      resolve({ server, port: (server.address() as net.AddressInfo).port }),
    );
  });
}

describe('tcpPing', () => {
  it('measures a connection and closes it', async () => {
    const { server, port } = await listen();
    const closed = new Promise((resolve) =>
      server.once('connection', (socket) => socket.once('close', resolve).resume()),
    );
    const latency = await tcpPing('127.0.0.1', port, 3000);
    expect(latency).toBeGreaterThanOrEqual(0);
    expect(Number.isInteger(latency)).toBe(true);
    await closed;
    server.close();
  });

  it('gives null when nobody listens', async () => {
    const { server, port } = await listen();
    await new Promise((resolve) => server.close(resolve));
    expect(await tcpPing('127.0.0.1', port, 3000)).toBeNull();
  });

  it('gives null for a host that is no host', async () => {
    expect(await tcpPing('host.invalid', 80, 3000)).toBeNull();
  });
});
