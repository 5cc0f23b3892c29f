import { randomUUID } from 'node:crypto';

export const SERVICE_NAME = 'Proxy Rental Service';
/** Also in package.json; a test compares them. */
export const SERVICE_VERSION = '1.0.0';

/** Identifies this process to the other replicas, in rows that name their owner. */
export const REPLICA_ID = randomUUID();
