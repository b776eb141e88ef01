import { fileURLToPath } from 'node:url';
import react from '@vitejs/plugin-react';
import { defaultClientConditions, defineConfig } from 'vite';

/** The service that `npm run dev:console` sends its requests to. */
const SERVICE = 'http://127.0.0.1:8080';

export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  base: '/console/',
  plugins: [react()],
  // The client from its source, which is not built here.
  resolve: { conditions: ['@player-engagement/source', ...defaultClientConditions] },
  build: {
    outDir: fileURLToPath(new URL('../dist/console', import.meta.url)),
    emptyOutDir: true,
    rolldownOptions: {
      input: ['index.html', 'docs.html'].map((name) => fileURLToPath(new URL(name, import.meta.url))),
    },
    target: 'es2023',
    // Data URLs would have to be allowed for fonts and scripts, too.
    assetsInlineLimit: 0,
    // The browser loads modules itself; the polyfill would be an inline script for old browsers.
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
  server: { proxy: { '/v1': SERVICE, '/console/auth': SERVICE, '/openapi.json': SERVICE } },
});
