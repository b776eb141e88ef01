import { request as httpRequest } from 'node:http';

/** One answer; `url` is where it came from. */
export interface Answer {
  url: string;
  status: number;
  headers: Record<string, string | string[] | undefined>;
  text: string;
}

interface Cookie {
  name: string;
  value: string;
  host: string;
  path: string;
}

type Headers = Record<string, string>;

/** What a page of the console sends with every request. */
export const OWN_PAGE = { 'sec-fetch-site': 'same-origin', 'x-console': '1' };

const MAX_REDIRECTS = 20;

/**
 * What of a browser decides about a sign-in: it keeps cookies by host and path as a browser does, those with the prefix
 * `__Host-` only as its rules allow, sends them, and follows redirects. By node:http, because `fetch` sets headers itself.
 */
export class CookieJar {
  cookies: Cookie[] = [];

  /** One request, without following a redirect. */
  async send(method: string, url: string, headers: Headers = {}, body?: string): Promise<Answer> {
    const cookie = headers['cookie'] ?? this.#cookiesFor(new URL(url));
    const answer = await send(method, url, { ...headers, ...(cookie === '' ? {} : { cookie }) }, body);
    this.#keep(new URL(url), answer);
    return answer;
  }

  /** Opens an address as a user does: follows redirects until a page comes. `stop_at`: not further than this path. */
  async open(url: string, stop_at?: string): Promise<Answer> {
    let at = url;
    for (let hops = 0; hops < MAX_REDIRECTS; hops++) {
      if (new URL(at).pathname === stop_at) return { url: at, status: 0, headers: {}, text: '' };
      const answer = await this.send('GET', at, { accept: 'text/html' });
      const { location } = answer.headers;
      if (answer.status < 300 || answer.status > 399 || typeof location !== 'string') return answer;
      at = new URL(location, at).href;
    }
    throw new Error(`more than ${MAX_REDIRECTS} redirects, the last to ${at}`);
  }

  /** The cookie of this name, whatever its host; undefined when there is none. */
  valueOf(name: string): string | undefined {
    return this.cookies.find((cookie) => cookie.name === name)?.value;
  }

  #cookiesFor({ hostname, pathname }: URL): string {
    return this.cookies
      .filter(({ host, path }) => host === hostname && pathname.startsWith(path))
      .map(({ name, value }) => `${name}=${value}`)
      .join('; ');
  }

  #keep({ hostname }: URL, { headers }: Answer): void {
    for (const line of [headers['set-cookie'] ?? []].flat()) {
      const [pair = '', ...rest] = line.split(';').map((part) => part.trim());
      const at = pair.indexOf('=');
      const name = pair.slice(0, at);
      const attributes = new Map(
        rest.map((one) => {
          const [key = '', value = ''] = one.split('=');
          return [key.toLowerCase(), value] as const;
        }),
      );
      const path = attributes.get('path') ?? '/';
      const is_host_cookie = attributes.has('secure') && path === '/' && !attributes.has('domain');
      if (name.startsWith('__Host-') && !is_host_cookie) continue;
      this.cookies = this.cookies.filter(
        (kept) => kept.name !== name || kept.host !== hostname || kept.path !== path,
      );
      const expires = attributes.get('expires');
      const is_gone =
        Number(attributes.get('max-age') ?? 1) <= 0 ||
        (expires !== undefined && Date.parse(expires) < Date.now());
      if (!is_gone) this.cookies.push({ name, value: pair.slice(at + 1), host: hostname, path });
    }
  }
}

function send(method: string, url: string, headers: Headers, body?: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(url, { method, headers }, (response) => {
      let text = '';
      response.on('data', (chunk: Buffer) => (text += chunk.toString()));
      response.on('end', () => {
        resolve({ url, status: response.statusCode ?? 0, headers: response.headers, text });
      });
    });
    request.on('error', reject);
    request.end(body);
  });
}
