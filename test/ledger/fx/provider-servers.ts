import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

type Handle = (request: IncomingMessage, response: ServerResponse, query: URLSearchParams) => void;

/** A server on the loopback interface whose answers a test sets. */
export interface TestServer {
  url: string;
  /** Paths with queries, in order of arrival. */
  requests: string[];
  /** Answers the next requests. */
  handle: Handle;
  close(): Promise<void>;
}

export async function startServer(handle: Handle): Promise<TestServer> {
  const server: Server = createServer((request, response) => {
    const url = request.url ?? '';
    running.requests.push(url);
    running.handle(request, response, new URL(url, 'http://localhost').searchParams);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const running: TestServer = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests: [],
    handle,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return running;
}

/** Answers with this text as JSON. */
export const json =
  (text: string, status = 200): Handle =>
  (_request, response) => {
    response.writeHead(status, { 'content-type': 'application/json' }).end(text);
  };

/** Frankfurter at a date. `rates` maps base and quote to the rate's digits; pairs that are missing are left out. */
export function frankfurter(date: string, rates: Record<string, Record<string, string>>): Handle {
  return (_request, response, query) => {
    const base = query.get('base') ?? '';
    const symbols = query.get('symbols')?.split(',') ?? [];
    const known = Object.entries(rates[base] ?? {}).filter(([code]) => symbols.includes(code));
    const fields = known.map(([code, digits]) => `"${code}":${digits}`).join(',');
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(`{"amount":1.0,"base":"${base}","date":"${date}","rates":{${fields}}}`);
  };
}

/**
 * Version 1 of Frankfurter with a history: date → currency → the digits of the rate from EUR. It answers the days that are
 * asked for.
 */
export function frankfurterHistory(rates: Record<string, Record<string, string>>): Handle {
  return (request, response) => {
    const [, from = '', to = ''] = /v1\/([\d-]+)\.\.([\d-]+)/.exec(request.url ?? '') ?? [];
    const days = Object.entries(rates).filter(([date]) => date >= from && date <= to);
    const objectOf = (of_day: Record<string, string>) =>
      `{${Object.entries(of_day)
        .map(([code, digits]) => `"${code}":${digits}`)
        .join(',')}}`;
    const fields = days.map(([date, of_day]) => `"${date}":${objectOf(of_day)}`);
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(
      `{"amount":1.0,"base":"EUR","start_date":"${from}","end_date":"${to}","rates":{${fields.join(',')}}}`,
    );
  };
}

/** Version 2 of Frankfurter: rows of `date base quote digits`, of which it answers the base and the days that are asked for. */
export function frankfurterV2(rows: readonly string[]): Handle {
  return (_request, response, query) => {
    const [from, to] = [query.get('from') ?? '', query.get('to') ?? '9999'];
    const found = rows
      .map((row) => row.split(' '))
      .filter(([date = '', base]) => base === query.get('base') && date >= from && date <= to);
    const fields = found.map(
      ([date, base, quote, digits]) =>
        `{"date":"${date}","base":"${base}","quote":"${quote}","rate":${digits}}`,
    );
    response.writeHead(200, { 'content-type': 'application/json' }).end(`[${fields.join(',')}]`);
  };
}

/** CoinGecko at a time in seconds. `prices` maps coin and currency to the price's digits. */
export function coingecko(updated_at: number, prices: Record<string, Record<string, string>>): Handle {
  return (_request, response, query) => {
    const ids = query.get('ids')?.split(',') ?? [];
    const currencies = query.get('vs_currencies')?.split(',') ?? [];
    const coins = Object.entries(prices).filter(([id]) => ids.includes(id));
    const fields = coins.map(([id, own]) => {
      const known = Object.entries(own).filter(([currency]) => currencies.includes(currency));
      const listed = known.map(([currency, digits]) => `"${currency}":${digits}`);
      if (query.get('include_last_updated_at') === 'true') listed.push(`"last_updated_at":${updated_at}`);
      return `"${id}":{${listed.join(',')}}`;
    });
    response.writeHead(200, { 'content-type': 'application/json' }).end(`{${fields.join(',')}}`);
  };
}
