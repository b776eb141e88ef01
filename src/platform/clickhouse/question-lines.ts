import type { ClickHouseQueries } from './port.ts';

/** Lines of questions to ClickHouse that nobody waits for: of each line one is asked at a time. */
export class QuestionLines {
  readonly #clickhouse: ClickHouseQueries;
  /** The last question of each line; lines without one are forgotten. */
  readonly #last = new Map<string, Promise<unknown>>();

  constructor(clickhouse: ClickHouseQueries) {
    this.#clickhouse = clickhouse;
  }

  /** ClickHouse, asked after what else is in this line; also after a question that failed. */
  of(line: string): ClickHouseQueries {
    return {
      query: <Row>(sql: string, params?: Record<string, unknown>) => {
        const before = this.#last.get(line) ?? Promise.resolve();
        const answer = before.then(() => this.#clickhouse.query<Row>(sql, params));
        const last = answer
          .catch(() => undefined)
          .then(() => {
            if (this.#last.get(line) === last) this.#last.delete(line);
          });
        this.#last.set(line, last);
        return answer;
      },
    };
  }
}
