import { expect, it } from 'vitest';
import { Backoff } from '../../src/backoff';

it('waits twice as long after each crash, and gives up at the fifth', () => {
  const backoff = new Backoff();
  const delays = [0, 10, 20, 30].map((second) => backoff.crashed(second * 1_000));
  expect(delays.map((one) => (one.restart ? one.delayMs : 'never'))).toEqual([1_000, 2_000, 4_000, 8_000]);
  expect(backoff.crashed(40_000)).toEqual({ restart: false, crashes: 5 });
});

it('forgets crashes of long ago, and all where the user starts the server', () => {
  const backoff = new Backoff();
  for (const minute of [0, 4, 8, 12, 16, 20]) {
    expect(backoff.crashed(minute * 60_000)).toEqual({ restart: true, delayMs: 1_000 });
  }
  backoff.crashed(20 * 60_000 + 1);
  backoff.reset();
  expect(backoff.crashed(20 * 60_000 + 2)).toEqual({ restart: true, delayMs: 1_000 });
});
