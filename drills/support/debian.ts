import { accessSync, constants } from 'node:fs';

export const DEBIAN = {
  caddy: { path: '/usr/bin/caddy', package: 'caddy' },
  etcd: { path: '/usr/bin/etcd', package: 'etcd-server' },
  etcdctl: { path: '/usr/bin/etcdctl', package: 'etcd-client' },
  haproxy: { path: '/usr/sbin/haproxy', package: 'haproxy' },
  nginx: { path: '/usr/sbin/nginx', package: 'nginx-light' },
  patroni: { path: '/usr/bin/patroni', package: 'patroni' },
  patronictl: { path: '/usr/bin/patronictl', package: 'patroni' },
  pgbackrest: { path: '/usr/bin/pgbackrest', package: 'pgbackrest' },
  postgres: { path: '/usr/lib/postgresql/15/bin/postgres', package: 'postgresql-15' },
  prometheus: { path: '/usr/bin/prometheus', package: 'prometheus' },
  promtool: { path: '/usr/bin/promtool', package: 'prometheus' },
} as const;

export type DebianProgram = keyof typeof DEBIAN;

export const POSTGRES_BIN = '/usr/lib/postgresql/15/bin';

export function missingPackages(...programs: readonly DebianProgram[]): string[] {
  const missing = programs.filter((name) => !isExecutable(DEBIAN[name].path));
  return [...new Set(missing.map((name) => DEBIAN[name].package))];
}

export function requirePrograms(...programs: readonly DebianProgram[]): void {
  const missing = missingPackages(...programs);
  if (missing.length > 0) {
    throw new Error(`This drill runs Debian's packages: apt-get install ${missing.join(' ')}`);
  }
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
