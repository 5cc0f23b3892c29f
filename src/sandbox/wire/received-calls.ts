const MAX_LOGGED_CALLS = 100_000;

/** Request as `GET /calls` of the control interface shows it, without the API key. */
export interface Call {
  seq: number;
  /** Name of the method, known or unknown; `account` for a URL without a method. */
  method: string;
  parameters: Record<string, string>;
  /** Milliseconds since 1970, with fractions, on this machine's clock. */
  receivedAtMs: number;
  /** Time of the response; `null` before it. */
  respondedAtMs: number | null;
  /** HTTP status; `null` before the response. */
  status: number | null;
  errorId: number | null;
  /** Id of the fault that hit the request; `null` if there was none. */
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
