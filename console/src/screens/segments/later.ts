import { useEffect, useState } from 'react';

/** The value as it was when it had rested for `delay_ms`. */
export function useLater<T>(value: T, delay_ms: number): T {
  const [late, setLate] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setLate(value), delay_ms);
    return () => clearTimeout(timer);
  }, [value, delay_ms]);
  return late;
}
