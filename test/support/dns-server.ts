import { createSocket } from 'node:dgram';
import { Resolver } from 'node:dns/promises';
import { once } from 'node:events';
import { isIPv4 } from 'node:net';
import { type Answer, decode, encode } from 'dns-packet';

export interface DnsServer {
  readonly resolver: Resolver;
  readonly impatient: Resolver;
  requested(name: string): number;
  close(): Promise<void>;
}

/**
 * @param zone the addresses of each name, by question; the last list is repeated. `silent` gets no response.
 *   Other names do not exist.
 */
export async function startDnsServer(
  zone: Readonly<Record<string, 'silent' | readonly (readonly string[])[]>>,
): Promise<DnsServer> {
  const socket = createSocket('udp4');
  const counts = new Map<string, number>();
  socket.on('message', (message, peer) => {
    const query = decode(message);
    const [question] = query.questions ?? [];
    if (!question) return;
    const { name, type } = question;
    const key = `${type} ${name.toLowerCase()}`;
    const count = counts.get(key) ?? 0;
    counts.set(key, count + 1);
    const responses = zone[name.toLowerCase()];
    if (responses === 'silent') return;
    const records = (responses?.[Math.min(count, responses.length - 1)] ?? [])
      .filter((address) => isIPv4(address) === (type === 'A'))
      .map((data): Answer => ({ type: type === 'A' ? 'A' : 'AAAA', name, ttl: 0, data }));
    const reply = encode({
      type: 'response',
      id: query.id ?? 0,
      flags: responses ? 0 : 3,
      questions: [question],
      answers: records,
    });
    socket.send(reply, peer.port, peer.address);
  });
  await once(socket.bind(0, '127.0.0.1'), 'listening');
  const [resolver, impatient] = [5000, 200].map((timeout) => {
    const made = new Resolver({ timeout, tries: 1 });
    made.setServers([`127.0.0.1:${socket.address().port}`]);
    return made;
  }) as [Resolver, Resolver];
  return {
    resolver,
    impatient,
    requested: (name) => counts.get(`A ${name}`) ?? 0,
    close: async () => {
      for (const one of [resolver, impatient]) one.cancel();
      socket.close();
      await once(socket, 'close');
    },
  };
}
