import { STATUS_CODES } from 'node:http';
import { types } from 'node:util';
import {
  type ArgumentsHost,
  Catch,
  type ExceptionFilter,
  HttpException,
  Logger,
  NotFoundException,
} from '@nestjs/common';
import type { Request, Response } from 'express';
import { codeOf, DomainError, type ErrorKind, messageOf, ServiceUnavailable, stackOf } from '../../common';
import { type JsonValue, writeJson } from '../json/json-value';
import { routeTemplate, UNMATCHED_ROUTE } from '../request-metrics';
import { Disconnected } from '../under-way';
import { RequestInvalid } from '../validation/input-mistake';
import { allowedMethods } from './allowed-methods';
import { isSpecified } from './specified-routes';

const STATUS = {
  'bad-request': 400,
  'not-authenticated': 401,
  'invalid-token': 401,
  forbidden: 403,
  'not-found': 404,
  conflict: 409,
  gone: 410,
  'body-too-large': 413,
  'unsupported-encoding': 415,
  validation: 422,
  'rate-limited': 429,
  unavailable: 503,
} satisfies Record<ErrorKind, number>;

/** 413 keeps its old reason phrase, because clients may rely on it. */
export const statusText = (status: number): string =>
  status === 413 ? 'Request Entity Too Large' : (STATUS_CODES[status] ?? 'Error');

export const statusOf = ({ kind }: DomainError): number => STATUS[kind];

/** Removed from error responses, because the route may have set these headers for a successful response. */
const REPLACED_HEADERS = [
  'Content-Type',
  'Content-Disposition',
  'Content-Encoding',
  'Content-Length',
  'ETag',
  'Cache-Control',
];

interface ErrorBody {
  readonly status: number;
  /** A `RequestInvalid` serializes itself. */
  readonly detail: JsonValue | RequestInvalid;
  /** Omitted if no route matched, or if `detail` is a list. */
  readonly code?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

const UNAVAILABLE = responseOf(new ServiceUnavailable());

/** A failover takes a few seconds. */
const RETRY_UNAVAILABLE = { 'Retry-After': '2' };

/**
 * Turns any error into `{"detail": …}`. Adds a `code` except on routes whose API contract must not change.
 */
@Catch()
export class ErrorFilter implements ExceptionFilter<unknown> {
  private readonly logger = new Logger('Errors');

  /** @param isUnavailable recognises failures of a dependency, e.g. the database; the response is then 503 */
  constructor(private readonly isUnavailable: (error: unknown) => boolean) {}

  catch(error: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    const request = http.getRequest<Request>();
    const response = http.getResponse<Response>();
    if (isHangUp(error, response)) return;
    const reply = this.isUnavailable(error) ? UNAVAILABLE : responseTo(error, request);
    if (reply.status === 500) this.logger.error('unforeseen error', stackOf(error));
    if (reply === UNAVAILABLE) this.logger.error(messageOf(error));
    if (response.headersSent) {
      // Cut the connection, to show the client that the response is incomplete.
      response.destroy();
      return;
    }
    for (const name of REPLACED_HEADERS) response.removeHeader(name);
    response
      .status(reply.status)
      .set({ ...(reply.status === STATUS.unavailable && RETRY_UNAVAILABLE), ...reply.headers })
      .type('json')
      .send(write(reply, request));
  }
}

function write({ detail, code }: ErrorBody, request: Request): string {
  if (detail instanceof RequestInvalid) return `{"detail":${detail.write()}}`;
  return writeJson({ detail, ...(code && hasCode(request) && { code }) });
}

function hasCode(request: Request): boolean {
  const route = routeTemplate(request);
  return route !== UNMATCHED_ROUTE && !isSpecified(`${request.method} ${route}`);
}

function responseOf({ kind, detail, code, headers }: DomainError): ErrorBody {
  return { status: STATUS[kind], detail, code, headers };
}

function responseTo(error: unknown, request: Request): ErrorBody {
  if (error instanceof RequestInvalid) return { status: STATUS.validation, detail: error };
  if (error instanceof DomainError) return responseOf(error);
  if (error instanceof NotFoundException) return notServed(request);
  const status = clientErrorStatus(error);
  if (status !== undefined) return { status, detail: statusText(status) };
  return { status: 500, detail: statusText(500), code: codeOf(statusText(500)) };
}

function notServed(request: Request): ErrorBody {
  // Clear the route, because the router may have left one here that did not match.
  request.route = undefined;
  const allowed = allowedMethods(request.app, request.path);
  if (allowed.length === 0) return { status: 404, detail: statusText(404) };
  return { status: 405, detail: statusText(405), headers: { Allow: allowed.join(', ') } };
}

function clientErrorStatus(error: unknown): number | undefined {
  if (!types.isNativeError(error)) return undefined;
  const status =
    error instanceof HttpException ? error.getStatus() : 'status' in error ? error.status : undefined;
  return typeof status === 'number' && status >= 400 && status < 500 ? status : undefined;
}

function isHangUp(error: unknown, response: Response): boolean {
  const isCut = types.isNativeError(error) && 'code' in error && error.code === 'ERR_STREAM_PREMATURE_CLOSE';
  return (isCut || error instanceof Disconnected) && response.destroyed;
}
