import { defineConfig } from 'vitest/config';

// One workbench after the other: each is a server, a browser and two language servers on two cores.
export default defineConfig({
  test: {
    include: ['test/e2e/**/*.test.ts'],
    fileParallelism: false,
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 30_000 } },
    bail: 0,
    // A browser that shares two cores with the servers loses a click now and then; what fails thrice is a fault.
    retry: 2,
    reporters: ['verbose'],
    disableConsoleIntercept: true,
  },
});
