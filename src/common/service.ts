import { randomUUID } from 'node:crypto';

export const SERVICE_NAME = 'Proxy Rental Service';
/** Also in package.json; a test holds them together. */
export const SERVICE_VERSION = '1.0.0';

/** Identifies this process to the other replicas, in rows that name their holder. */
export const REPLICA_ID = randomUUID();
