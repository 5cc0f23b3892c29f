import type { ProviderState } from './state/provider-state';

/** The provider's time: this machine's, shifted by what the control interface ordered. */
export class SandboxClock {
  constructor(private readonly state: ProviderState) {}

  nowMs(): number {
    return Date.now() + this.state.clockOffsetMs;
  }

  nowS(): number {
    return Math.floor(this.nowMs() / 1000);
  }
}
