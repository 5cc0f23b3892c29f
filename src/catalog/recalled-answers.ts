import { Injectable } from '@nestjs/common';
import type { NextFunction, Request, Response } from 'express';
import { LRUCache } from 'lru-cache';
import { AccessGuard, type AdmittedRequest } from '../auth';

/** Makes the answer of what is in memory; undefined when that does not suffice. */
type Recall = (userId: number) => object | undefined;

const MOST_KNOWN = 2000;
const LONGEST_KNOWN = 200;

/**
 * What can be told from memory is told before the request takes its way through Nest's pipes and promises, which is twice as long as
 * all the rest. It is put together anew for each request: what is kept of a URL is how.
 */
@Injectable()
export class RecalledAnswers {
  private readonly known = new LRUCache<
    string,
    { readonly scope: AdmittedRequest['scope']; readonly recall: Recall }
  >({
    max: MOST_KNOWN,
  });

  constructor(private readonly access: AccessGuard) {}

  /** Of a request that is valid: those for the same are answered by this from now on, whoever makes them. */
  learn({ originalUrl, scope }: AdmittedRequest, recall: Recall): void {
    if (originalUrl.length <= LONGEST_KNOWN) this.known.set(originalUrl, { scope, recall });
  }

  /** Middleware. */
  readonly answer = (request: Request, response: Response, next: NextFunction): void => {
    const known = request.method === 'GET' ? this.known.get(request.originalUrl) : undefined;
    const caller = known && this.access.recallCaller(request, known.scope);
    const answer = caller && known.recall(caller.userId);
    if (answer === undefined) {
      next();
      return;
    }
    // What Express' `json` does, without its looking up of settings and types.
    const text = JSON.stringify(answer);
    response.setHeader('Content-Type', 'application/json; charset=utf-8');
    response.setHeader('Content-Length', Buffer.byteLength(text));
    response.end(text);
  };
}
