/** When a server that has crashed is started again. */

/** What happens after a crash. */
export type Decision = { restart: true; delayMs: number } | { restart: false; crashes: number };

const FIRST_DELAY_MS = 1_000;
const LONGEST_DELAY_MS = 16_000;
const WINDOW_MS = 3 * 60_000;
const MOST_CRASHES = 5;

/** Waits twice as long after each crash, and gives up at the fifth within three minutes. */
export class Backoff {
  private crashes: number[] = [];

  /** Takes note of a crash at the time `now`, in milliseconds. */
  crashed(now: number): Decision {
    this.crashes = this.crashes.filter((at) => now - at < WINDOW_MS);
    this.crashes.push(now);
    const count = this.crashes.length;
    if (count >= MOST_CRASHES) return { restart: false, crashes: count };
    return { restart: true, delayMs: Math.min(FIRST_DELAY_MS * 2 ** (count - 1), LONGEST_DELAY_MS) };
  }

  /** Forgets what was: the user has started the server. */
  reset(): void {
    this.crashes = [];
  }
}
