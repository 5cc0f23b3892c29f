const KEPT_CALLS = 100_000;

/** One request, as GET /calls of the control interface shows it. The key is not in it. */
export interface Call {
  seq: number;
  /** A method's name, `account` for the bare address, or what stood in its place. */
  method: string;
  parameters: Record<string, string>;
  /** Milliseconds since the epoch, with fractions, on this machine's clock. */
  receivedAtMs: number;
  /** Null while it is under way, and for good when no answer was sent. */
  answeredAtMs: number | null;
  /** The HTTP status, as soon as one was sent. */
  status: number | null;
  errorId: number | null;
  /** The id of the fault that hit it. */
  fault: number | null;
}

export class CallLog {
  private calls: Call[] = [];
  private seq = 0;

  add(method: string, parameters: Record<string, string>): Call {
    this.seq += 1;
    const call: Call = {
      seq: this.seq,
      method,
      parameters,
      receivedAtMs: performance.timeOrigin + performance.now(),
      answeredAtMs: null,
      status: null,
      errorId: null,
      fault: null,
    };
    this.calls.push(call);
    if (this.calls.length > 2 * KEPT_CALLS) this.calls = this.calls.slice(-KEPT_CALLS);
    return call;
  }

  list(): readonly Call[] {
    return this.calls;
  }

  clear(): void {
    this.calls = [];
  }
}
