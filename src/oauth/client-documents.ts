import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { ConcurrencyLimit, jsonOrUndefined } from '../common';
import { AppConfig } from '../config';
import { AddressRules, checkedLookup, systemResolver } from '../webhooks';
import { type ClientMetadata, clientMetadata } from './client-metadata';

const TIMEOUT_MS = 3000;
const MAX_BYTES = 64 * 1024;
const MAX_URL_LENGTH = 500;
const MAX_FETCHES = 4;
const CACHED_FOR_MS = 5 * 60_000;
const MAX_CACHED = 1000;

/**
 * Fetches the metadata of clients whose id is a URL (draft-ietf-oauth-client-id-metadata-document). Anyone
 * can choose such a URL, so the same address rules apply as for webhooks.
 */
@Injectable()
export class ClientDocuments {
  private readonly cache = new LRUCache<string, ClientMetadata>({ max: MAX_CACHED, ttl: CACHED_FOR_MS });
  private readonly fetches = new ConcurrencyLimit<string>(MAX_FETCHES, 1);
  private readonly rules: AddressRules;

  constructor(config: AppConfig) {
    this.rules = new AddressRules(config.webhooks.allowedNetworks);
  }

  /** Returns null if the URL or the document is not valid. */
  async fetch(id: string): Promise<ClientMetadata | null> {
    const known = this.cache.get(id);
    if (known) return known;
    if (!isDocumentUrl(id)) return null;
    const text = await this.fetches
      .run(new URL(id).host, () => this.get(id), AbortSignal.timeout(TIMEOUT_MS))
      .catch(() => '');
    const document = jsonOrUndefined(text);
    const { data } = clientMetadata.safeParse(document);
    // The draft requires the document to contain its own URL as the client id.
    if (!data || (document as { client_id?: unknown }).client_id !== id) return null;
    this.cache.set(id, data);
    return data;
  }

  private async get(id: string): Promise<string> {
    const { Client, request } = await import('undici');
    const url = this.rules.checkUrl(id);
    const lookup = checkedLookup(systemResolver(), this.rules);
    const dispatcher = new Client(url.origin, { connect: { lookup }, maxResponseSize: MAX_BYTES });
    try {
      const { statusCode, body } = await request(url, {
        dispatcher,
        signal: AbortSignal.timeout(TIMEOUT_MS),
        headers: { accept: 'application/json' },
      });
      return statusCode === 200 ? await body.text() : '';
    } finally {
      void dispatcher.destroy().catch(() => undefined);
    }
  }
}

/** Whether a client id can be the URL of a metadata document: https, with a path, and normalized. */
function isDocumentUrl(id: string): boolean {
  if (id.length > MAX_URL_LENGTH || !URL.canParse(id)) return false;
  const { protocol, pathname, hash, username, password, href } = new URL(id);
  return protocol === 'https:' && pathname !== '/' && `${hash}${username}${password}` === '' && href === id;
}
