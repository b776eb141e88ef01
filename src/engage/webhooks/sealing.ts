import { isDeepStrictEqual } from 'node:util';
import { encryptedHead, type EncryptionKeys } from '../../platform/encryption.ts';
import type { Db, Tx } from '../../platform/postgres/port.ts';
import { retryConflicts } from '../../platform/postgres/retry.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import { resealer, type Resealer } from '../journeys/graph/webhook-headers.ts';
import {
  lockDeliveryHeaders,
  lockJourneyGraphs,
  lockVersionGraph,
  lockVersionGraphs,
  updateDeliveryHeaders,
  updateJourneyGraph,
  updateVersionGraph,
  type DeliveryHeaders,
  type JourneyGraphs,
  type VersionGraph,
} from './sealing-queries.ts';

/** Graphs per transaction: each may have 256 KiB. */
const GRAPHS_AT_ONCE = 20;
const DELIVERIES_AT_ONCE = 500;

/** Rows that have other headers now, and rows with a value that no given key opens. */
interface Sealed {
  reencrypted: number;
  unreadable: number;
}

/** Seals the headers that another key has sealed with the current key, in small transactions. It can be repeated. */
export async function reencryptWebhookHeaders(sql: Db, keys: EncryptionKeys): Promise<Sealed> {
  return new Pass(sql, keys).run();
}

/** What became of a row. */
interface Result {
  changed: boolean;
  is_unreadable: boolean;
}

/** One pass over everything that has headers of webhooks. */
class Pass {
  readonly #sql: Db;
  readonly #keys: EncryptionKeys;
  readonly #total: Sealed = { reencrypted: 0, unreadable: 0 };

  constructor(sql: Db, keys: EncryptionKeys) {
    this.#sql = sql;
    this.#keys = keys;
  }

  async run(): Promise<Sealed> {
    await this.#pages<JourneyGraphs>(
      GRAPHS_AT_ONCE,
      (tx, after) => lockJourneyGraphs(tx, after, GRAPHS_AT_ONCE),
      (tx, row) => this.#journey(tx, row),
    );
    await this.#pages<VersionGraph>(
      GRAPHS_AT_ONCE,
      (tx, after) => lockVersionGraphs(tx, after, GRAPHS_AT_ONCE),
      async (tx, row) => [await this.#version(tx, row, this.#resealer(row))],
    );
    await this.#pages<DeliveryHeaders>(
      DELIVERIES_AT_ONCE,
      (tx, after) => lockDeliveryHeaders(tx, after, DELIVERIES_AT_ONCE),
      async (tx, row) => [await this.#delivery(tx, row)],
    );
    return this.#total;
  }

  /** A journey with its live version, by one resealer: whether their graphs are equal says whether a draft was saved. */
  async #journey(tx: Tx, row: JourneyGraphs): Promise<Result[]> {
    const anew = this.#resealer(row);
    const graph = anew.graph(row.graph);
    const result = { changed: !isDeepStrictEqual(graph, row.graph), is_unreadable: anew.unreadable() > 0 };
    if (result.changed) await updateJourneyGraph(tx, row, graph);
    const live = row.version === null ? undefined : await lockVersionGraph(tx, row, row.version);
    if (live === undefined) return [result];
    const { changed } = await this.#version(tx, live, anew);
    // What nothing opens in the version is counted with the other versions.
    return [result, { changed, is_unreadable: false }];
  }

  async #version(tx: Tx, row: VersionGraph, anew: Resealer): Promise<Result> {
    const graph = anew.graph(row.graph);
    const changed = !isDeepStrictEqual(graph, row.graph);
    if (changed) await updateVersionGraph(tx, row, graph);
    return { changed, is_unreadable: anew.unreadable() > 0 };
  }

  async #delivery(tx: Tx, row: DeliveryHeaders): Promise<Result> {
    const anew = this.#resealer(row);
    // What is never called again needs none.
    const headers = row.is_open ? anew.headers(row.url, row.headers) : {};
    const changed = !isDeepStrictEqual(headers, row.headers);
    if (changed) await updateDeliveryHeaders(tx, row, headers);
    return { changed, is_unreadable: anew.unreadable() > 0 };
  }

  /** Seals the rows that `lock` returns, page by page, each page in a transaction. */
  async #pages<Row>(
    limit: number,
    lock: (tx: Tx, after: Row | undefined) => Promise<Row[]>,
    seal: (tx: Tx, row: Row) => Promise<Result[]>,
  ): Promise<void> {
    let after: Row | undefined;
    for (;;) {
      const position = after;
      const { rows, results } = await retryConflicts(() =>
        this.#sql.begin(async (tx) => {
          const found = await lock(tx, position);
          return { rows: found, results: (await Promise.all(found.map((row) => seal(tx, row)))).flat() };
        }),
      );
      this.#total.reencrypted += results.filter(({ changed }) => changed).length;
      this.#total.unreadable += results.filter(({ is_unreadable }) => is_unreadable).length;
      after = rows.at(-1);
      if (rows.length < limit) return;
    }
  }

  #resealer(project: ProjectRef): Resealer {
    const head = encryptedHead(this.#keys.current);
    return resealer(this.#keys, project, ({ sealed }) =>
      Buffer.from(sealed, 'base64').subarray(0, head.length).equals(head),
    );
  }
}
