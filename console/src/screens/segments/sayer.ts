import { useBaseCurrency } from '../../api/currencies.ts';
import { useSegmentNames, useVocabulary } from './queries.ts';
import type { Sayer } from './words.ts';

/** What conditions of this project are said with. Without an answer they are said as they are stored. */
export function useSayer(): Sayer {
  const vocabulary = useVocabulary().data?.data;
  return { vocabulary, currency: useBaseCurrency(), names: useSegmentNames() };
}
