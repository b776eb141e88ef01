import type { RuleProduct } from '../../tenants/licence/rule.ts';
import type { CompiledTemplate } from './render.ts';
import type { TemplateRow } from './queries.ts';

/** Whether a template reads the variable `bonus`: its messages are about bonuses then. */
export function readsBonus({ reads }: Pick<CompiledTemplate, 'reads'>): boolean {
  return reads.some(({ path }) => path[0] === 'bonus');
}

/**
 * The product of the bonus that messages of a template are about; null: they are about none. A template that reads a
 * bonus and names no product may show any. The same as `bonusProductSql`.
 */
export function bonusProductOf({
  bonus_product,
  reads_bonus,
}: Pick<TemplateRow, 'bonus_product' | 'reads_bonus'>): RuleProduct | null {
  return bonus_product ?? (reads_bonus ? 'any' : null);
}
