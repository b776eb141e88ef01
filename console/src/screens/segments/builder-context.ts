import { createContext, use } from 'react';
import type { Issue } from '@player-engagement/client/admin';
import type { Currency } from '../../format/money.ts';
import type { Warning } from './queries.ts';
import type { Node } from './tree.ts';
import type { Vocabulary } from './vocabulary.ts';
import type { Sayer } from './words.ts';

/** Finds the node to focus, and which of its buttons; without one its first control is focused. */
export type FindFocus = (
  before: Node,
  after: Node,
) => { id: string | undefined; act?: 'up' | 'down' } | undefined;

/** What every part of the builder needs. */
export interface BuilderTools {
  vocabulary: Vocabulary;
  currency: Currency | undefined;
  sayer: Sayer;
  /** The segments that a condition can refer to. */
  segments: readonly { id: string; name: string; definition: unknown }[];
  /**
   * Changes the tree. Changes with the same `tag` in quick succession are one step back; `focus` says where the focus is
   * afterwards.
   */
  change: (next: (root: Node) => Node, options?: { tag?: string; focus?: FindFocus }) => void;
  /** What the service refuses, by the path of the node that it names. */
  issues: ReadonlyMap<string, readonly Issue[]>;
  /** What to think about before the segment is used, by the path of the condition. */
  warnings: ReadonlyMap<string, Warning>;
  /** How many players each condition alone matches, by path; empty while it is counted. */
  sizes: ReadonlyMap<string, number>;
}

export const BuilderContext = createContext<BuilderTools | undefined>(undefined);

/** The tools of the builder. Throws outside of it. */
export function useTools(): BuilderTools {
  const tools = use(BuilderContext);
  if (tools === undefined) throw new TypeError('useTools needs a builder around it');
  return tools;
}
