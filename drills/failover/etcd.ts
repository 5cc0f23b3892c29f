import { type Daemon, runProgram, startDaemon } from '../support/daemon';
import { DEBIAN } from '../support/debian';
import { LOOPBACK } from '../support/ports';
import { until } from '../support/until';

interface Member {
  readonly name: string;
  readonly directory: string;
  readonly clientPort: number;
  readonly peerPort: number;
}

export class Etcd {
  private readonly running = new Map<Member, Daemon>();

  private constructor(private readonly members: readonly Member[]) {}

  static async start(directories: readonly string[], ports: readonly number[]): Promise<Etcd> {
    const members = directories.map((directory, at) => ({
      name: `etcd-${at + 1}`,
      directory,
      clientPort: ports[2 * at] ?? 0,
      peerPort: ports[2 * at + 1] ?? 0,
    }));
    const etcd = new Etcd(members);
    // No member is ready before there is a majority.
    await Promise.all(members.map((member) => etcd.startMember(member)));
    return etcd;
  }

  get hosts(): string {
    return this.members.map(({ clientPort }) => `${LOOPBACK}:${clientPort}`).join(',');
  }

  /** Waits for another leader. Returns the function that restarts the killed member. */
  async killLeader(): Promise<() => Promise<void>> {
    const leader = await this.findLeader();
    await this.running.get(leader)?.stop({ signal: 'SIGKILL' });
    this.running.delete(leader);
    await until('another leader of etcd', () => this.findLeader());
    return () => this.startMember(leader);
  }

  async stop(): Promise<void> {
    await Promise.all([...this.running.values()].map((daemon) => daemon.stop({ patienceMs: 3000 })));
  }

  private async findLeader(): Promise<Member> {
    for (const member of this.running.keys()) {
      const status = await runProgram({
        program: DEBIAN.etcdctl.path,
        parameters: [
          `--endpoints=${LOOPBACK}:${member.clientPort}`,
          'endpoint',
          'status',
          '--write-out=json',
        ],
        environment: { ETCDCTL_API: '3' },
      });
      const [response]: { Status: { leader?: number; header: { member_id: number } } }[] = JSON.parse(
        // The ids have 64 bits, which JSON.parse would round.
        status.replaceAll(/:(\d{16,})/g, ':"$1"'),
      );
      if (response && response.Status.leader === response.Status.header.member_id) return member;
    }
    throw new Error('etcd has no leader');
  }

  private async startMember(member: Member): Promise<void> {
    const { name, directory, clientPort, peerPort } = member;
    const peers = this.members.map((one) => `${one.name}=http://${LOOPBACK}:${one.peerPort}`);
    const daemon = await startDaemon({
      name,
      program: DEBIAN.etcd.path,
      environment: {
        ETCD_NAME: name,
        ETCD_DATA_DIR: directory,
        ETCD_LISTEN_CLIENT_URLS: `http://${LOOPBACK}:${clientPort}`,
        ETCD_ADVERTISE_CLIENT_URLS: `http://${LOOPBACK}:${clientPort}`,
        ETCD_LISTEN_PEER_URLS: `http://${LOOPBACK}:${peerPort}`,
        ETCD_INITIAL_ADVERTISE_PEER_URLS: `http://${LOOPBACK}:${peerPort}`,
        ETCD_INITIAL_CLUSTER: peers.join(','),
        ETCD_INITIAL_CLUSTER_STATE: 'new',
        // A machine with many processes responds late.
        ETCD_HEARTBEAT_INTERVAL: '200',
        ETCD_ELECTION_TIMEOUT: '2000',
        ETCD_LOGGER: 'zap',
        // docker/cluster/patroni.yml gives the reason.
        ETCD_ENABLE_V2: 'true',
      },
      isReady: () => isHealthy(clientPort),
    });
    this.running.set(member, daemon);
  }
}

async function isHealthy(clientPort: number): Promise<boolean> {
  try {
    return (await fetch(`http://${LOOPBACK}:${clientPort}/health`)).ok;
  } catch {
    return false;
  }
}
