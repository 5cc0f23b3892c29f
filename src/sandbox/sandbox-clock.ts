import type { ProviderState } from './state/provider-state';

/** The provider's clock: this machine's, shifted by the offset set through the control interface. */
export class SandboxClock {
  constructor(private readonly state: ProviderState) {}

  nowMs(): number {
    return Date.now() + this.state.clockOffsetMs;
  }

  nowS(): number {
    return Math.floor(this.nowMs() / 1000);
  }
}
