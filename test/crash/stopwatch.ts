/** Prints how long each step of a long test takes; returns what ends a step. */
export function stopwatch(): (step: string) => void {
  let since_ms = performance.now();
  return (step) => {
    const now_ms = performance.now();
    process.stdout.write(`${step}: ${Math.round((now_ms - since_ms) / 100) / 10} s\n`);
    since_ms = now_ms;
  };
}
