# Meshes that Godot 3 captures, for godot3.sh: blend shapes, with a skeleton and without; beside them are one with a skeleton
# alone, a plain one, and particles. Each is a square of its own colour, which the time 0 has at the left, and 1 four units
# further to the right. Prints cases, writes a picture of each time, and ends.
extends SceneTree

const SIZE = 128
# Of each square: the y of its center, its color, how far the blend shape and the bones move it, and flags of its bones.
const SQUARES = {
	"a plain mesh": [3.2, Color(1, 0, 0), 0.0, 0.0, 0],
	"a blend shape": [1.9, Color(0, 1, 0), 4.0, 0.0, 0],
	"a skeleton": [0.6, Color(0, 0, 1), 0.0, 4.0, 0],
	"a blend shape and a skeleton": [-0.7, Color(1, 1, 0), 3.0, 1.0, 0],
	"a blend shape and a skeleton, bones of 16 bits": [-2.0, Color(0, 1, 1), 1.0, 3.0, Mesh.ARRAY_FLAG_USE_16_BIT_BONES],
}
const LEFT = -2.5

var instances = []
var skeletons = []

func material(color):
	var made = SpatialMaterial.new()
	made.flags_unshaded = true
	made.albedo_color = color
	made.params_cull_mode = SpatialMaterial.CULL_DISABLED
	return made

func square(y, color, by_shape, by_bone, flags):
	var corners = [Vector3(-0.5, -0.5, 0), Vector3(0.5, -0.5, 0), Vector3(0.5, 0.5, 0), Vector3(-0.5, 0.5, 0)]
	var arrays = []
	arrays.resize(Mesh.ARRAY_MAX)
	arrays[Mesh.ARRAY_VERTEX] = PoolVector3Array(corners)
	arrays[Mesh.ARRAY_NORMAL] = PoolVector3Array([Vector3.BACK, Vector3.BACK, Vector3.BACK, Vector3.BACK])
	arrays[Mesh.ARRAY_INDEX] = PoolIntArray([0, 1, 2, 0, 2, 3])
	if by_bone:
		var bones = []
		var weights = []
		for i in 4:
			# The second and the third have all the weight together.
			bones += [0, 1, 2, 0]
			weights += [0.0, 0.25, 0.75, 0.0]
		arrays[Mesh.ARRAY_BONES] = PoolIntArray(bones)
		arrays[Mesh.ARRAY_WEIGHTS] = PoolRealArray(weights)
	var mesh = ArrayMesh.new()
	var shapes = []
	if by_shape:
		mesh.add_blend_shape("right")
		mesh.blend_shape_mode = Mesh.BLEND_SHAPE_MODE_NORMALIZED
		var moved = []
		for corner in corners:
			moved.append(corner + Vector3(by_shape, 0, 0))
		# It has all that the mesh has, but for indices.
		var shape = arrays.duplicate()
		shape[Mesh.ARRAY_VERTEX] = PoolVector3Array(moved)
		shape[Mesh.ARRAY_INDEX] = null
		shapes.append(shape)
	mesh.add_surface_from_arrays(Mesh.PRIMITIVE_TRIANGLES, arrays, shapes, Mesh.ARRAY_COMPRESS_DEFAULT | flags)
	mesh.surface_set_material(0, material(color))

	var instance = MeshInstance.new()
	instance.mesh = mesh
	var parent = Spatial.new()
	if by_bone:
		parent = Skeleton.new()
		for name in ["root", "right", "also right"]:
			parent.add_bone(name)
		skeletons.append([parent, by_bone])
	parent.translation = Vector3(LEFT, y, 0)
	parent.add_child(instance)
	root.add_child(parent)
	instance.skeleton = NodePath("..")
	if by_shape:
		instances.append(instance)

func particles():
	var moving = ParticlesMaterial.new()
	moving.gravity = Vector3(0, 0, 0)
	moving.direction = Vector3(1, 0, 0)
	moving.spread = 0
	moving.initial_velocity = 4
	var mesh = QuadMesh.new()
	mesh.size = Vector2(0.3, 0.6)
	mesh.material = material(Color(1, 0, 1))
	var made = Particles.new()
	made.amount = 6
	made.lifetime = 1.2
	made.process_material = moving
	made.draw_pass_1 = mesh
	made.fixed_fps = 0
	made.translation = Vector3(LEFT, -3.2, 0)
	root.add_child(made)

func move(time):
	for instance in instances:
		instance.set("blend_shapes/right", time)
	for skeleton in skeletons:
		for bone in [1, 2]:
			skeleton[0].set_bone_pose(bone, Transform(Basis(), Vector3(skeleton[1] * time, 0, 0)))

func is_at(image, x, y, color):
	var got = image.get_pixel(int((x + 4) * SIZE / 8), int((4 - y) * SIZE / 8))
	# It draws to 10 bits first, and full becomes 254.
	return max(max(abs(got.r - color.r), abs(got.g - color.g)), abs(got.b - color.b)) < 0.01

func _initialize():
	VisualServer.set_default_clear_color(Color(0, 0, 0))
	var camera = Camera.new()
	camera.set_orthogonal(8, 1, 20)
	camera.translation = Vector3(0, 0, 10)
	root.add_child(camera)
	for name in SQUARES:
		callv("square", SQUARES[name])
	particles()

	var wrong = {}
	for time in [0.0, 0.25, 1.0, 0.5]:
		move(time)
		# Twelve frames, for the particles.
		for i in 12:
			yield(VisualServer, "frame_post_draw")
		var image = root.get_texture().get_data()
		image.flip_y()
		image.save_png("res://%d.png" % (time * 100))
		image.convert(Image.FORMAT_RGB8)
		image.lock()
		for name in SQUARES:
			var of = SQUARES[name]
			var right = LEFT + (of[2] + of[3]) * time
			for x in [-0.4, 0.4]:
				if not is_at(image, right + x, of[0], of[1]):
					wrong[name] = "at the time %s its color is not at %s" % [time, right + x]
			for x in [-0.6, 0.6]:
				if not is_at(image, right + x, of[0], Color(0, 0, 0)):
					wrong[name] = "at the time %s something is at %s" % [time, right + x]
	for name in SQUARES:
		print("case\t%s\t%s\t%s" % [name, "fail" if wrong.has(name) else "pass", wrong.get(name, "")])
	quit()
