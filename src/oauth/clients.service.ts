import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { queryRow, queryRows } from '../database';
import { Retention } from '../jobs';
import { ClientDocuments } from './client-documents';
import { type ClientMetadata, clientMetadata } from './client-metadata';
import { OAuthError } from './oauth-error';

export interface OAuthClient {
  readonly id: string;
  /** The name that the client gave itself. It proves nothing about the client. */
  readonly name: string;
  readonly redirectUris: readonly string[];
}

const MAX_NAME_LENGTH = 60;
/**
 * Maximum number of unused clients. Registering another client removes the oldest one, so that strangers
 * cannot block registrations.
 */
const MAX_UNUSED_CLIENTS = 10_000;

/** Clients have no secrets, because programs on customers' machines cannot keep one. */
@Injectable()
export class OAuthClients {
  constructor(
    private readonly dataSource: DataSource,
    private readonly documents: ClientDocuments,
    retention: Retention,
  ) {
    retention.add('oauth_clients', async () => ({ removed: await this.removeUnused(), next: null }));
  }

  /** @throws OAuthError if the metadata is not valid */
  async register(metadata: unknown): Promise<{ client: OAuthClient; createdAt: Date }> {
    const { data, error } = clientMetadata.safeParse(metadata);
    if (error) {
      const isOfUris = error.issues.every(({ path }) => path[0] === 'redirect_uris');
      throw isOfUris
        ? new OAuthError(
            'invalid_redirect_uri',
            'redirect_uris must be 1 to 10 URIs: https, or http on loopback',
          )
        : new OAuthError(
            'invalid_client_metadata',
            error.issues.map(({ path }) => path.join('.')).join(', '),
          );
    }
    const client = toClient(randomUUID(), data);
    await this.removeOldestUnused();
    const { createdAt } = await queryRow<{ createdAt: Date }>(
      this.dataSource,
      `INSERT INTO oauth_clients (id, name, redirect_uris) VALUES ($1, $2, $3)
       RETURNING created_at AS "createdAt"`,
      [client.id, client.name, client.redirectUris],
    );
    return { client, createdAt };
  }

  /** @param id the registered id, or the URL of the metadata document */
  async find(id: string): Promise<OAuthClient | null> {
    if (id.startsWith('https://')) {
      const document = await this.documents.fetch(id);
      return document && toClient(id, document);
    }
    if (!UUID.test(id)) return null;
    const [client] = await queryRows<OAuthClient>(
      this.dataSource,
      `SELECT id, name, redirect_uris AS "redirectUris" FROM oauth_clients WHERE id = $1`,
      [id],
    );
    return client ?? null;
  }

  /** Records a consent, so that retention keeps the client. */
  async recordUse(id: string, manager: EntityManager): Promise<void> {
    await manager.query('UPDATE oauth_clients SET used_at = now() WHERE id = $1', [id]);
  }

  private async removeOldestUnused(): Promise<void> {
    await this.dataSource.query(
      `DELETE FROM oauth_clients WHERE id IN (
         SELECT id FROM oauth_clients WHERE used_at IS NULL ORDER BY created_at DESC OFFSET $1)`,
      [MAX_UNUSED_CLIENTS - 1],
    );
  }

  private async removeUnused(): Promise<number> {
    const removed = await queryRows(
      this.dataSource,
      `DELETE FROM oauth_clients client
        WHERE (used_at IS NULL AND created_at < now() - interval '1 day')
           OR (used_at < now() - interval '1 year'
               AND NOT EXISTS (SELECT FROM oauth_grants WHERE client_id = client.id))
       RETURNING 1`,
    );
    return removed.length;
  }
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

function toClient(
  id: string,
  { client_name = '', redirect_uris: redirectUris }: ClientMetadata,
): OAuthClient {
  // Control characters and bidirectional formatting could make a name look like another one.
  const name = client_name
    .replaceAll(/[\p{C}\p{Z}]+/gu, ' ')
    .trim()
    .slice(0, MAX_NAME_LENGTH)
    .trim();
  return { id, name: name || new URL(redirectUris[0] ?? '').host, redirectUris };
}
