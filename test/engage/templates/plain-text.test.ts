import { expect, it } from 'vitest';
import { plainText } from '../../../src/engage/templates/plain-text.ts';

it.each([
  ['<p>Dear Ann,<br>you won <b>5&nbsp;&euro;</b>.</p><p>Bye</p>', 'Dear Ann,\nyou won 5 €.\n\nBye'],
  ['<html><head><title>T</title><style>p{}</style></head><body>Hello</body></html>', 'Hello'],
  ['a<script>alert("x")</script><!-- <p>no</p> -->b', 'ab'],
  ['<ul><li>one</li><li>two</li></ul>end', '- one\n- two\n\nend'],
  ['<table><tr><td>1</td><td>2</td></tr><tr><td>3</td></tr></table>', '1 2\n3'],
  ['<a href="https://x.example/?a=1&amp;b=2">Play <b>now</b></a>!', 'Play now (https://x.example/?a=1&b=2)!'],
  ["<a class=x HREF='https://x.example'>https://x.example</a>", 'https://x.example'],
  ['<a href="mailto:a@b.c">a@b.c</a> <a href="#top">up</a> <a href="javascript:x()">no</a>', 'a@b.c up no'],
  [
    '<a href="https://a.example">one</a> <a href="https://b.example">two</a>',
    'one (https://a.example) two (https://b.example)',
  ],
  ['1 < 2 &amp;&amp; 3 &gt; 2 &#34;q&#34; &#x1F600; &unknown; &#0;', '1 < 2 && 3 > 2 "q" 😀 &unknown;'],
  ['  many \n\n spaces\t<div>  here </div>  ', 'many spaces\nhere'],
  ['&lt;b&gt;escaped&lt;/b&gt;', '<b>escaped</b>'],
  ['cut <b', 'cut'],
  ['cut <!-- never', 'cut'],
  ['<img src="x.png">', ''],
  ['<img alt="5 > 3" src="x.png">seen', 'seen'],
  ['<a title="a > b" href="https://x.example">go</a>', 'go (https://x.example)'],
  ['&Uuml;ber 5&thinsp;&frac12; &check; &hearts;', 'Über 5 ½ ✓ ♥'],
  ['Hi&zwnj;&nbsp;&zwnj;&nbsp;&shy;there', 'Hi there'],
  ['<head><title>x</title><body>a head that does not end', 'a head that does not end'],
  ['<style>a > b { content: "</p>" }</style>styled', 'styled'],
  ["<!-- a > b --><p title='<p>'>after</p>", 'after'],
  ['<textarea><b>no tag</b></textarea>', '<b>no tag</b>'],
])('%s', (html, text) => {
  expect(plainText(html)).toBe(text);
});
