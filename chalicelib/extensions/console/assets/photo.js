// Reduces a photo to a few kilobytes.
const photo = document.querySelector(".photo"), [file, data] = photo.querySelectorAll("input");
file.onchange = async () => {
  data.value = file.value; // the server rejects it unless an image follows
  const image = await createImageBitmap(file.files[0], { resizeHeight: 64 });
  const canvas = photo.querySelector("canvas");
  canvas.width = image.width;
  canvas.getContext("2d").drawImage(image, 0, 0);
  data.value = canvas.toDataURL("image/jpeg");
};
