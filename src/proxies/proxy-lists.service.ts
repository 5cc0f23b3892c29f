import { buffer } from 'node:stream/consumers';
import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { ProxyFilesService } from './proxy-files.service';
import type { ProxyState } from './proxy-state';

/** Of bodies that are kept, some 60,000 proxies. */
const KEPT_BYTES = 16 * 1024 * 1024;
/** A longer one would drive out all others. */
const LONGEST_KEPT_BYTES = KEPT_BYTES / 8;

/** What `GET /proxies` sends: made once for a state of a user's proxies, and kept as long as that is asked for. */
@Injectable()
export class ProxyListsService {
  /** Found by the state itself. Who asks while one is made waits for it. */
  private readonly bodies = new LRUCache<ProxyState, Buffer>({
    maxSize: KEPT_BYTES,
    maxEntrySize: LONGEST_KEPT_BYTES,
    sizeCalculation: ({ length }) => Math.max(length, 1),
    fetchMethod: (state) => this.write(state),
    ignoreFetchAbort: true,
  });

  constructor(private readonly files: ProxyFilesService) {}

  /** JSON, UTF-8. */
  get(state: ProxyState): Promise<Buffer> {
    return this.bodies.forceFetch(state);
  }

  private write({ userId, fromMs }: ProxyState): Promise<Buffer> {
    const contents = {
      userId,
      format: 'json',
      now: new Date(fromMs),
      proxyType: undefined,
      activeOnly: false,
    } as const;
    return buffer(this.files.pieces(contents));
  }
}
