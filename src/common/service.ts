import { randomUUID } from 'node:crypto';

export const SERVICE_NAME = 'Proxy Rental Service';
/** The version in package.json must be the same; a test compares them. */
export const SERVICE_VERSION = '1.0.0';

export const REPLICA_ID = randomUUID();
