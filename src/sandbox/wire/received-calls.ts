const MAX_LOGGED_CALLS = 100_000;

/** A request as shown by `GET /calls`. Must not contain the API key. */
export interface Call {
  seq: number;
  /** Name of the method, even if unknown; `account` for a URL without a method. */
  method: string;
  parameters: Record<string, string>;
  /** Unix milliseconds, with fractions. */
  receivedAtMs: number;
  respondedAtMs: number | null;
  status: number | null;
  errorId: number | null;
  fault: number | null;
}

export class ReceivedCalls {
  private calls: Call[] = [];
  private seq = 0;

  add(method: string, parameters: Record<string, string>): Call {
    this.seq += 1;
    const call: Call = {
      seq: this.seq,
      method,
      parameters,
      receivedAtMs: performance.timeOrigin + performance.now(),
      respondedAtMs: null,
      status: null,
      errorId: null,
      fault: null,
    };
    this.calls.push(call);
    if (this.calls.length > 2 * MAX_LOGGED_CALLS) this.calls = this.calls.slice(-MAX_LOGGED_CALLS);
    return call;
  }

  list(): readonly Call[] {
    return this.calls;
  }

  clear(): void {
    this.calls = [];
  }
}
