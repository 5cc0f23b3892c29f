// A receiver of webhooks, with `npm install standardwebhooks`.
import { createServer } from 'node:http';
import { Webhook } from 'standardwebhooks';

const webhook = new Webhook(process.env.WEBHOOK_SECRET);
const seen = new Set(); // keep the ids with your own data

createServer(async (request, response) => {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  let event;
  try {
    event = webhook.verify(Buffer.concat(chunks).toString(), request.headers);
  } catch {
    response.writeHead(400).end();
    return;
  }
  if (!seen.has(event.id)) {
    seen.add(event.id);
    console.log(event.type, JSON.stringify(event.data));
  }
  response.writeHead(204).end();
}).listen(Number(process.env.PORT), '127.0.0.1', function () {
  console.log('listening on', this.address().port);
});
