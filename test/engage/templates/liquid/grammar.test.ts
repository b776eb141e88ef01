import { describe, expect, it } from 'vitest';
import type { ApiError } from '../../../../src/errors.ts';
import { NO_MONEY } from '../../../../src/engage/templates/money.ts';
import { checkTemplate, renderMessage } from '../../../../src/engage/templates/render.ts';
import { LEGAL, SCOPE } from './legal.ts';
import { WRONG } from './wrong.ts';

const sms = (body: string) => ({ channel: 'sms' as const, subject: null, preheader: null, body, data: {} });

describe('legal Liquid', () => {
  it('is a list of at least 150 snippets, each once', () => {
    expect(new Set(LEGAL.map(([template]) => template)).size).toBe(LEGAL.length);
    expect(LEGAL.length).toBeGreaterThanOrEqual(150);
  });

  it.each(LEGAL)('%s', (template, rendered) => {
    expect(renderMessage(checkTemplate(sms(template)), structuredClone(SCOPE), NO_MONEY).body).toBe(rendered);
  });
});

/** The issues with which a template is refused. */
function issuesOf(template: string): unknown[] {
  try {
    checkTemplate(sms(template));
  } catch (error) {
    const { code, status, details } = error as ApiError;
    expect({ code, status }).toEqual({ code: 'TEMPLATE_INVALID', status: 422 });
    return details?.issues as unknown[];
  }
  return [];
}

describe('what is no Liquid', () => {
  it('is a list of at least 150 snippets, each once', () => {
    expect(new Set(WRONG.map(([template]) => template)).size).toBe(WRONG.length);
    expect(WRONG.length).toBeGreaterThanOrEqual(150);
  });

  it.each(WRONG)('%s', (marked, said) => {
    const template = marked.replace('¦', '');
    const [before = ''] = marked.split('¦');
    const lines = before.split('\n');
    const position = { line: lines.length, column: (lines.at(-1)?.length ?? 0) + 1 };
    expect(issuesOf(template)).toEqual([
      expect.objectContaining({ path: 'body', message: expect.stringContaining(said), ...position }),
    ]);
  });
});
